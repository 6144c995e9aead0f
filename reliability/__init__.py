"""What rankscope withstands: fuzzing, failing disks, kills, changed code."""
