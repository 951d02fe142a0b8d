"""The REST server: Pulsar's routes under `/admin/v2`, our own under `/api/v1`, health beside them."""
