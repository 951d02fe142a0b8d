"""What this process asks of Python and of its system: memory, files, processors, threads and signals."""
