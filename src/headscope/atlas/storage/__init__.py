"""Atlas files on disk: read by their index or by HDF5, checked, and written by one at a time."""
