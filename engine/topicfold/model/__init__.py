"""Values and rules: names, labels, records, events. Pure: no I/O, clock, threads, random numbers or logger."""
