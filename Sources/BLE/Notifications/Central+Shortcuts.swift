/// Reading, writing and listening without a peripheral in hand, for small programs.
///
/// ```swift
/// print(try await central.read(.batteryLevel))
/// for try await beat in try await central.notifications(.heartRateMeasurement) { print(beat.beatsPerMinute) }
/// ```
///
/// Each call uses a peripheral that offers the characteristic's service: one with a link if there is one, otherwise the
/// first that is heard; see ``first(matching:timeout:)``. Where several are in range, choose one yourself. A
/// characteristic without a service throws `invalidArgument`.
extension Central {
    /// Reads a characteristic's value.
    ///
    /// - Parameter timeout: the maximum time for finding the peripheral. Nil for the configuration's connect timeout.
    public nonisolated func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value {
        try await peripheral(with: characteristic.key, timeout).read(characteristic)
    }

    /// Writes a characteristic's value.
    ///
    /// - Parameter timeout: the maximum time for finding the peripheral. Nil for the configuration's connect timeout.
    public nonisolated func write<Value>(
        _ value: Value, to characteristic: Characteristic<Value>, type: WriteType = .withResponse,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await peripheral(with: characteristic.key, timeout).write(value, to: characteristic, type: type)
    }

    /// Subscribes to the values that are notified or indicated from now on.
    ///
    /// - Parameter timeout: the maximum time for finding the peripheral. Nil for the configuration's connect timeout.
    public nonisolated func notifications<Value>(
        _ characteristic: Characteristic<Value>, overflow: OverflowPolicy = .dropOldest(capacity: 256),
        timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral(with: characteristic.key, timeout).notifications(characteristic, overflow: overflow)
    }

    private nonisolated func peripheral(
        with key: CharacteristicKey, _ timeout: Duration?
    ) async throws(BLEError) -> Peripheral {
        guard let service = key.service else {
            throw BLEError(
                .invalidArgument, "the characteristic \(key.characteristic) does not name its service",
                characteristic: key.characteristic, remedy: "Give the service, or call the peripheral's own method.")
        }
        return try await first(matching: .service(service), timeout: timeout).peripheral
    }
}

/// Peripherals of the kind that a profile describes.
extension Central {
    /// Returns the profile of the first peripheral that is of its kind; see ``first(matching:timeout:)``.
    ///
    /// ```swift
    /// let strap = try await central.first(HeartRate.self)
    /// for try await beat in try await strap.measurements() { print(beat) }
    /// ```
    public nonisolated func first<P: Profile>(_ type: P.Type, timeout: Duration? = nil) async throws(BLEError) -> P {
        P(try await first(matching: P.discovery, timeout: timeout).peripheral)
    }
}
