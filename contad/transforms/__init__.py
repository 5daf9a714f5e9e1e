"""The transforms: functions in, derivatives out."""
