// A program that scans until it discovers a device, with what the first program of the README uses.
import BLE
import BLEBlueZ

try await withCentral { central in
    for try await _ in central.discoveries() { return }
}
