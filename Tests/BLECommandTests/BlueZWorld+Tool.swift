import BlueZTestSupport

extension BlueZWorld {
    /// The tool on this bus.
    ///
    /// - Parameters:
    ///   - timeout: of everything that it waits for, in seconds.
    ///   - input: what is on its standard input; nil for nothing.
    func ble(_ arguments: String..., timeout: Int = Tool.timeout, input: String? = nil) -> Tool {
        ble(arguments, timeout: timeout, input: input)
    }

    func ble(_ arguments: [String], timeout: Int = Tool.timeout, input: String? = nil) -> Tool {
        Tool(arguments + ["--bus", bus.address, "--timeout", "\(timeout)"], input: input)
    }
}
