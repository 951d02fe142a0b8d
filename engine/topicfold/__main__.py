"""`python -m topicfold` is the command `topicfold`."""

from topicfold.cli.main import main

main()
