"""Names of the HTTP headers that Topicfold gives a meaning, and the media type of its problems.

Values are ASCII. `CHANGE_REASON` is percent-encoded UTF-8; raw UTF-8 is taken too: what curl sends when one types it.
"""

from __future__ import annotations

# Requests
IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"
IDEMPOTENCY_KEY = "Idempotency-Key"
MIN_POSITION = "X-Min-Position"
CHANGE_REASON = "X-Change-Reason"
BEARER = "Bearer"
CONSISTENCY = "X-Consistency"
LINEARIZABLE = "linearizable"

# Answers
ETAG = "ETag"
LOG_POSITION = "X-Log-Position"
LOG_AGE = "X-Log-Age"
OPERATION_ID = "X-Operation-Id"
DELETED_KAFKA_TOPIC = "X-Deleted-Kafka-Topic"
TAKEN_KAFKA_TOPIC = "X-Taken-Kafka-Topic"
RETRY_AFTER = "Retry-After"
QUERY = "X-Topicfold-Query"
PROPERTIES = "X-Topicfold-Properties"
AUTHENTICATE = "WWW-Authenticate"

# Both
REQUEST_ID = "X-Request-Id"

PROBLEM_TYPE = "application/problem+json"
NDJSON_TYPE = "application/x-ndjson"

MAX_IDEMPOTENCY_KEY_LENGTH = 255
MAX_CHANGE_REASON_LENGTH = 512
