"""Values and rules: names, labels, records, events. Pure: no I/O, clock, thread, random number or logger."""
