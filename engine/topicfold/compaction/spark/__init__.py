"""Spark itself: its session and settings, the streams that it reads, what it prints and what its errors mean."""
