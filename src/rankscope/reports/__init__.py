"""Reports: a view for each result, which makes a document of it. Views compute nothing."""
