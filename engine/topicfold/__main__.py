"""`python -m topicfold` is the command `topicfold`."""

import sys

from topicfold.cli.main import main

sys.exit(main())
