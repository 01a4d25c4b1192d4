"""The studio in a browser: the application, its pages, its headers, its viewer."""
