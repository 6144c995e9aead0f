"""Fusion: several runs made into one."""
