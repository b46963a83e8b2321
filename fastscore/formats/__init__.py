"""Readers, one module a format: a file in, Arrow tables of predictions or references out."""
