// What users test with, this package's own tests use, too.
@_exported public import BLESimulation
@_exported public import BLETesting
