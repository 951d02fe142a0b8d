"""The script for `spark-submit`: runs `topicfold compact` with the options that follow."""

import sys

from topicfold.cli.main import main

sys.exit(main(["compact", *sys.argv[1:]]))
