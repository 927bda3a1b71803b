public import BLE

/// The shell.
extension FirmwareClient {
    /// The end of a shell command.
    public struct ShellResult: Hashable, Sendable {
        /// What the command has printed, as much as fits the device's buffer.
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
    ///   - arguments: the command and its arguments, at least one.
    ///   - timeout: the maximum time for the command, with connecting and writing. Nil for the configuration's.
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
