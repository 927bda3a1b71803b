// A program that scans until it discovers a device, with the same modules as the first program of the README.
import BLE
import BLEBlueZ

try await withCentral { central in
    for try await _ in central.discoveries() { return }
}
