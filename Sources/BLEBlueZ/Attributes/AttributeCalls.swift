internal import BLE
internal import DBus

/// The pending operations on attributes, and the devices that are being paired with.
///
/// If this program refuses the pairing that an operation has started, bluetoothd does not answer that operation, nor
/// any other on the link, for 30 s. They are therefore failed here.
struct AttributeCalls {
    typealias Completion = (Result<[UInt8], BLEError>) -> Void

    struct Call {
        /// The path of the device.
        let device: String
        /// The path of the characteristic that is read; nil for any other operation.
        let readPath: String?
        let completion: Completion
        /// The call, once it is started.
        fileprivate(set) var pending: PendingCall?
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

    /// Adds a call.
    mutating func add(
        _ call: Int, on device: String, reading path: String? = nil, completion: @escaping Completion
    ) {
        calls[call] = Call(device: device, readPath: path, completion: completion)
    }

    /// Records how a call can be withdrawn, unless it has its result.
    mutating func setPending(_ call: Int, _ pending: PendingCall) { calls[call]?.pending = pending }

    /// Removes a call that has its result, or whose caller no longer waits. Nil if it was removed before.
    mutating func remove(_ call: Int) -> Call? { calls.removeValue(forKey: call) }

    /// Cancels the further attempts of a call.
    mutating func cancelRetry(_ call: Int) {
        if !retries.isEmpty { retries.removeValue(forKey: call)?.cancel() }
    }

    mutating func setRetry(_ call: Int, _ task: Task<Void, Never>) { retries[call] = task }

    /// Ends the further attempts of a call. Returns whether a caller waits for their result.
    mutating func endRetry(_ call: Int) -> Bool { retries.removeValue(forKey: call) != nil }

    /// Returns the calls on a device.
    func all(on device: String) -> [Int] { calls.filter { $0.value.device == device }.map(\.key) }

    /// Whether `Pair` is pending for a device.
    func isPairing(_ device: String) -> Bool { pairing.contains(device) }

    mutating func beginPairing(_ device: String) { pairing.insert(device) }

    mutating func endPairing(_ device: String) { pairing.remove(device) }
}
