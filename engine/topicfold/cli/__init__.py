"""The command line `topicfold`."""
