internal import BLE

/// The pending operations on attributes, and the devices that are being paired with.
///
/// If this program refuses the pairing that an operation has started, bluetoothd answers neither that operation nor any
/// other on the link for 30 s; then they are failed from here.
struct AttributeCalls {
    /// The operations, each with the device's path.
    private var calls: [Int: (device: String, fail: (BLEError) -> Void)] = [:]
    private var pairing: Set<String> = []
    private var last = 0

    /// The number of pending operations.
    var count: Int { calls.count }

    /// Adds an operation. Returns its number, with which it is removed.
    mutating func add(on device: String, fail: @escaping (BLEError) -> Void) -> Int {
        last += 1
        calls[last] = (device, fail)
        return last
    }

    mutating func remove(_ call: Int) { calls[call] = nil }

    func contains(_ call: Int) -> Bool { calls[call] != nil }

    /// Returns the operations on a device.
    func all(on device: String) -> [Int] { calls.filter { $0.value.device == device }.map(\.key) }

    /// Fails an operation. It stays until it is removed by its caller.
    func fail(_ call: Int, _ error: BLEError) { calls[call]?.fail(error) }

    /// Whether `Pair` is pending for a device.
    func isPairing(_ device: String) -> Bool { pairing.contains(device) }

    mutating func beginPairing(_ device: String) { pairing.insert(device) }

    mutating func endPairing(_ device: String) { pairing.remove(device) }
}
