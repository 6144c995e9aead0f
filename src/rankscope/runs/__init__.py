"""What systems returned: runs, their file formats, and their validation."""
