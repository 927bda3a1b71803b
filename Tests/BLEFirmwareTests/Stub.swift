import BLEFirmware
import Testing
import BLESimulation
import BLETesting
