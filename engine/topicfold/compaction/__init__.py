"""The Spark job: the same fold over the same log, into tables. The only importer of pyspark."""
