/// The value that was read last, and its age; see ``Peripheral/lastRead(_:)``.
public struct LastRead<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The time since the peripheral answered.
    public let age: Duration

    /// Creates a value with its age.
    public init(value: Value, age: Duration) {
        (self.value, self.age) = (value, age)
    }
}

extension LastRead: Equatable where Value: Equatable {}

extension Peripheral {
    /// The value that this central has read last from a characteristic on the current link, without asking the
    /// peripheral again. Nil if there was no such read, if there is no link, and after the services changed.
    ///
    /// Notified values and parts of values do not count: ``values(_:timeout:)`` keeps a value up to date. Throws
    /// `invalidValue` if the value cannot be decoded.
    public func lastRead<Value>(_ characteristic: Characteristic<Value>) async throws(BLEError) -> LastRead<Value>? {
        guard let last = await central.lastRead(characteristic.key, of: id) else { return nil }
        return LastRead(value: try characteristic.decode(last.value, from: id), age: last.age)
    }
}

extension Central {
    fileprivate func lastRead(_ key: CharacteristicKey, of id: Peripheral.ID) -> LastRead<[UInt8]>? {
        guard connectionState(id) == .connected, let target = links[id]?.target(key),
            let read = links[id]?.lastReads[target.attribute.handle]
        else { return nil }
        return LastRead(value: read.value, age: elapsed() - read.time)
    }
}
