"""Frozen values that every other room speaks in; imports nothing but errors."""
