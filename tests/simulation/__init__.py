"""The shipped engine on a fake log under a virtual clock: seeded histories, judged."""
