public import BLE

/// The sizes that a device receives.
public struct ManagementParameters: Hashable, Sendable {
    /// The maximum length of a frame, in bytes, with its header.
    public var bufferSize: Int
    /// The number of frames that the device holds, at least 1.
    public var bufferCount: Int

    /// Creates parameters.
    public init(bufferSize: Int, bufferCount: Int) {
        self.bufferSize = bufferSize
        self.bufferCount = bufferCount
    }

    init(_ fields: CBORMap) throws(BLEError) {
        guard let size = fields["buf_size"]?.integer, size > SMPHeader.size else { throw .lacking(field: "buf_size") }
        guard let count = fields["buf_count"]?.integer, count > 0 else { throw .lacking(field: "buf_count") }
        self.init(bufferSize: size, bufferCount: count)
    }
}

/// How MCUboot starts images (Zephyr, "Bootloader information", the query `mode`).
public enum BootloaderMode: Int, Hashable, Sendable {
    /// Unknown.
    case unknown = -1
    /// There is one slot.
    case singleSlot = 0
    /// Images are swapped by means of a scratch area.
    case swapWithScratch = 1
    /// The new image overwrites the old one.
    case overwrite = 2
    /// Images are swapped without a scratch area.
    case swapWithoutScratch = 3
    /// The images run where they are, and a new one is not reverted.
    case directXIP = 4
    /// The images run where they are, and a new one is reverted unless it is confirmed.
    case directXIPWithRevert = 5
    /// The image is copied to RAM.
    case ramLoad = 6
}

/// The operating system's commands.
extension FirmwareClient {
    /// Sends a text, and returns what the device sends back.
    public func echo(_ text: String) async throws(BLEError) -> String {
        try await session.request(.write, .echo, ["d": .text(text)]).required("r", \.text)
    }

    /// Returns the device's parameters.
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

/// The shell.
extension FirmwareClient {
    /// The end of a shell command.
    public struct ShellResult: Hashable, Sendable {
        /// What the command has printed.
        public var output: String
        /// The command's return code; 0 for success.
        public var returnCode: Int

        /// Creates a result.
        public init(output: String, returnCode: Int = 0) {
            self.output = output
            self.returnCode = returnCode
        }
    }

    /// Executes a shell command.
    ///
    /// A command that fails has another return code than 0; the call throws only if it could not be executed.
    ///
    /// - Parameters:
    ///   - arguments: the command and its arguments.
    ///   - timeout: the maximum time. Nil for the configuration's.
    public func execute(_ arguments: [String], timeout: Duration? = nil) async throws(BLEError) -> ShellResult {
        let fields = try await session.request(
            .write, .execute, ["argv": .array(arguments.map { .text($0) })], timeout: timeout, isChecked: false)
        // Zephyr's option for earlier clients sends the return code as "rc".
        if let output = fields["o"]?.text, fields["err"] == nil, let code = (fields["ret"] ?? fields["rc"])?.integer {
            return ShellResult(output: output, returnCode: code)
        }
        try await session.check(fields)
        return ShellResult(
            output: try fields.required("o", \.text), returnCode: fields["ret"]?.integer ?? 0)
    }
}

extension CBORMap {
    /// Returns a field of a response.
    func required<Value>(_ key: String, _ value: (CBOR) -> Value?) throws(BLEError) -> Value {
        guard let found = self[key].flatMap(value) else { throw .lacking(field: key) }
        return found
    }
}
