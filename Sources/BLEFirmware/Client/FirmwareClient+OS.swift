public import BLE

/// The operating system's commands.
extension FirmwareClient {
    /// Sends a text, and returns what the device sends back. The request fits the device's buffer, or is not answered.
    public func echo(_ text: String) async throws(BLEError) -> String {
        try await session.request(.write, .echo, ["d": .text(text)]).required("r", \.text)
    }

    /// Returns the sizes that the device receives. Throws `managementFailed` if it does not report them.
    public func parameters() async throws(BLEError) -> ManagementParameters {
        try ManagementParameters(try await session.request(.read, .parameters))
    }

    /// Resets the device, which answers first. The link ends soon after.
    ///
    /// - Parameter isForced: whether to reset although the device has refused with ``SMPFailure/Code/busy``. Sent as a
    ///   boolean: Zephyr ignores the number that the Python package smp sends.
    public func reset(isForced: Bool = false) async throws(BLEError) {
        _ = try await session.request(.write, .reset, isForced ? ["force": true] : [:])
    }

    /// Returns the device's date and time, such as `2026-11-27T06:56:24`, as it sends it.
    public func dateTime() async throws(BLEError) -> String {
        try await session.request(.read, .dateTime).required("datetime", \.text)
    }

    /// Sets the device's date and time.
    ///
    /// - Parameter dateTime: a text such as `2026-11-27T06:56:24`.
    public func setDateTime(_ dateTime: String) async throws(BLEError) {
        _ = try await session.request(.write, .dateTime, ["datetime": .text(dateTime)])
    }

    /// Returns the bootloader's name, such as `MCUboot`.
    public func bootloader() async throws(BLEError) -> String {
        try await session.request(.read, .bootloaderInfo).required("bootloader", \.text)
    }

    /// Returns how MCUboot starts images. ``BootloaderMode/unknown`` for a number that is not defined.
    public func bootloaderMode() async throws(BLEError) -> BootloaderMode {
        let fields = try await session.request(.read, .bootloaderInfo, ["query": "mode"])
        return BootloaderMode(rawValue: try fields.required("mode", \.integer)) ?? .unknown
    }

    /// Returns information about the application as a text.
    ///
    /// - Parameter format: the fields as letters, such as `sv` (Zephyr, "OS/Application info"). Nil for the name of the
    ///   kernel, `a` for all.
    public func applicationInfo(format: String? = nil) async throws(BLEError) -> String {
        let fields: CBORMap = if let format { ["format": .text(format)] } else { [:] }
        return try await session.request(.read, .applicationInfo, fields).required("output", \.text)
    }
}
