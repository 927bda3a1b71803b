internal import BLE

/// The pending operations on attributes, and the devices that are being paired with.
///
/// If this program refuses the pairing that an operation has started, bluetoothd answers neither that operation nor any
/// other on the link for 30 s; then they are failed from here.
struct AttributeCalls {
    typealias Completion = (Result<[UInt8], BLEError>) -> Void

    private struct Call {
        /// The path of the device.
        let device: String
        let completion: Completion
    }

    private var calls: [Int: Call] = [:]
    /// The operations that are tried again after a failure.
    private var retries: [Int: Task<Void, Never>] = [:]
    private var pairing: Set<String> = []
    private var last = 0

    /// The number of pending calls.
    var count: Int { calls.count }

    /// Returns the number of a new call.
    mutating func next() -> Int {
        last += 1
        return last
    }

    /// Adds a call. ``complete(_:)`` returns `completion` once, unless the call is removed before.
    mutating func add(_ call: Int, on device: String, completion: @escaping Completion) {
        calls[call] = Call(device: device, completion: completion)
    }

    /// Removes a call, or ends the attempts that have followed it.
    mutating func remove(_ call: Int) {
        calls[call] = nil
        if !retries.isEmpty { retries.removeValue(forKey: call)?.cancel() }
    }

    func contains(_ call: Int) -> Bool { calls[call] != nil }

    /// Removes a call that has its result. Returns what takes it; nil if nobody waits for it any more.
    mutating func complete(_ call: Int) -> Completion? { calls.removeValue(forKey: call)?.completion }

    mutating func setRetry(_ call: Int, _ task: Task<Void, Never>) { retries[call] = task }

    /// Ends the attempts that have followed a call. Returns whether somebody waits for their result.
    mutating func endRetry(_ call: Int) -> Bool { retries.removeValue(forKey: call) != nil }

    /// Returns the calls on a device.
    func all(on device: String) -> [Int] { calls.filter { $0.value.device == device }.map(\.key) }

    /// Whether `Pair` is pending for a device.
    func isPairing(_ device: String) -> Bool { pairing.contains(device) }

    mutating func beginPairing(_ device: String) { pairing.insert(device) }

    mutating func endPairing(_ device: String) { pairing.remove(device) }
}
