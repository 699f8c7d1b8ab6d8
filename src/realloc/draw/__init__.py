"""Figures and pieces of pages, shared by reports and console."""
