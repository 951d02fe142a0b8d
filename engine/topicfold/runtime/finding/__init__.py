"""Finding topics: queries answered as of one cut, and listings, which may be a plug-in's."""
