internal import BLE

/// A central's request.
struct ManagementRequest: Sendable {
    let operation: SMPOperation
    let command: SMPCommand
    let fields: CBORMap
    let central: DeviceID
    let clock: any Clock<Duration>

    init(_ frame: SMPFrame, _ central: DeviceID, _ clock: any Clock<Duration>) {
        operation = frame.header.operation
        command = frame.header.command
        fields = frame.fields
        self.central = central
        self.clock = clock
    }

    /// Returns a field. Throws if it is missing, or has another type.
    func required<Value>(_ key: String, _ value: (CBOR) -> Value?) throws -> Value {
        guard let found = fields[key].flatMap(value) else { throw SMPFailure(.invalidValue) }
        return found
    }

    /// Returns a field. Nil if it is missing. Throws if it has another type.
    func optional<Value>(_ key: String, _ value: (CBOR) -> Value?) throws -> Value? {
        guard let field = fields[key] else { return nil }
        guard let found = value(field) else { throw SMPFailure(.invalidValue) }
        return found
    }

    /// Returns an offset or a length: an integer that is not negative. Nil if it is missing.
    func count(_ key: String) throws -> Int? {
        let value = try optional(key, \.integer)
        guard value ?? 0 >= 0, value ?? 0 <= Int(UInt32.max) else { throw SMPFailure(.invalidValue) }
        return value
    }
}
