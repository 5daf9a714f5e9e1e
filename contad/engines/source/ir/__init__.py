"""The intermediate representation: functions in SSA form, tables of known operations, and a writer of statements."""
