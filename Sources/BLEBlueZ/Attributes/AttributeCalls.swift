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
    /// The devices that are being paired with, and whether `Pair` was sent and not refused for another pairing.
    private var pairing: [String: Bool] = [:]
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

    /// Cancels the attempts that have followed a call.
    func cancelRetry(_ call: Int) {
        if !retries.isEmpty { retries[call]?.cancel() }
    }

    mutating func setRetry(_ call: Int, _ task: Task<Void, Never>) { retries[call] = task }

    /// Removes the attempts that have followed a call.
    mutating func endRetry(_ call: Int) { retries[call] = nil }

    /// Returns the calls on a device.
    func all(on device: String) -> [Int] { calls.filter { $0.value.device == device }.map(\.key) }

    /// Whether this program pairs with a device, or waits until it can.
    func isPairing(_ device: String) -> Bool { pairing[device] != nil }

    /// Whether the pairing with a device is this program's. Another client's may be in progress instead.
    func ownsPairing(_ device: String) -> Bool { pairing[device] ?? false }

    mutating func setPairing(_ device: String, isOwn: Bool) { pairing[device] = isOwn }

    mutating func endPairing(_ device: String) { pairing[device] = nil }
}
