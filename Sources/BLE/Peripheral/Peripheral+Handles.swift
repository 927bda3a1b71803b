/// Access to attributes by handle, for programs that know a peripheral's handles and not its types.
///
/// A characteristic is identified by the handle of its declaration or of its value, which is the next one; a descriptor
/// by its own. Handles may change with the peripheral's firmware. A handle that no attribute has throws
/// `characteristicNotFound`.
extension Peripheral {
    /// Reads the value of a characteristic or a descriptor.
    public func readBytes(handle: UInt16, timeout: Duration? = nil) async throws(BLEError) -> [UInt8] {
        switch try await locate(handle) {
        case .characteristic(let key): try await readBytes(of: key, timeout: timeout)
        case .descriptor(let descriptor, let key):
            try await readDescriptor(descriptor.uuid, handle: descriptor.handle, of: key, timeout: timeout)
        }
    }

    /// Writes the value of a characteristic or a descriptor.
    ///
    /// - Parameter type: for a characteristic. A descriptor is always written with response.
    public func writeBytes(
        _ value: [UInt8], handle: UInt16, type: WriteType = .withResponse, timeout: Duration? = nil
    ) async throws(BLEError) {
        switch try await locate(handle) {
        case .characteristic(let key): try await writeBytes(value, to: key, type: type, timeout: timeout)
        case .descriptor(let descriptor, let key):
            try await writeDescriptor(
                value, to: descriptor.uuid, handle: descriptor.handle, of: key, timeout: timeout)
        }
    }

    /// Subscribes to the values of a characteristic, as ``notifications(_:delivery:overflow:timeout:)`` does.
    public func notifications(
        handle: UInt16, overflow: OverflowPolicy = .dropOldest(capacity: 256), timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<[UInt8]> {
        guard case .characteristic(let key) = try await locate(handle) else {
            throw BLEError(.notSupported, "a descriptor is not notified", isRetryable: false).at(id)
        }
        return try await notifications(key.bytes, overflow: overflow, timeout: timeout)
    }

    private enum Place {
        case characteristic(CharacteristicKey)
        case descriptor(GATTDescriptor, CharacteristicKey)
    }

    private func locate(_ handle: UInt16) async throws(BLEError) -> Place {
        for service in try await services() {
            for characteristic in service {
                var key = characteristic.key
                (key.service, key.serviceHandle) = (service.uuid, service.handle)
                // The value follows its declaration: Core Specification 5.4, volume 3, part G, section 3.3.
                if handle == characteristic.handle || handle == characteristic.handle &+ 1 {
                    return .characteristic(key)
                }
                if let descriptor = characteristic[handle: handle] { return .descriptor(descriptor, key) }
            }
        }
        throw BLEError(
            .characteristicNotFound, "the peripheral has no attribute with the handle \(handle)", isRetryable: false
        )
        .at(id)
    }
}
