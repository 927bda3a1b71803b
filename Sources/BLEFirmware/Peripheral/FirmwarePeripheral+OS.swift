internal import BLE

/// The operating system's commands, and the shell.
extension FirmwarePeripheral {
    func answerOS(_ request: ManagementRequest) async throws -> CBORMap {
        switch (request.operation, request.command) {
        case (.read, .echo), (.write, .echo): return ["r": .text(try request.required("d", \.text))]
        case (.read, .parameters):
            return ["buf_size": CBOR(parameters.bufferSize), "buf_count": CBOR(parameters.bufferCount)]
        case (.read, .bootloaderInfo):
            switch try request.optional("query", \.text) {
            case nil: return ["bootloader": .text(bootloader)]
            case "mode"? where bootloader == "MCUboot": return ["mode": CBOR(mode.rawValue)]
            default: throw SMPFailure.noAnswerToQuery
            }
        case (.read, .applicationInfo):
            guard let applicationInfo else { throw SMPFailure(.notSupported) }
            return ["output": .text(applicationInfo)]
        case (.read, .dateTime):
            guard let dateTime else { throw SMPFailure(.notSupported) }
            return ["datetime": .text(try await dateTime.read())]
        case (.write, .dateTime):
            guard let dateTime else { throw SMPFailure(.notSupported) }
            try await dateTime.write(try request.required("datetime", \.text))
            return [:]
        default: throw SMPFailure(.notSupported)
        }
    }

    func execute(_ request: ManagementRequest) async throws -> CBORMap {
        guard let onExecute else { throw SMPFailure(.notSupported) }
        let arguments = try request.required("argv", \.array).map {
            guard let argument = $0.text else { throw SMPFailure(.invalidValue) }
            return argument
        }
        guard !arguments.isEmpty else { throw SMPFailure.emptyCommand }
        let result = try await onExecute(arguments)
        // Room for the header, the keys, the return code and the length.
        let room = parameters.bufferSize - SMPHeader.size - 24
        return ["o": .text(Self.cut(result.output, to: room)), "ret": CBOR(result.returnCode)]
    }

    /// Returns the beginning of a text, in whole code points, in at most `count` bytes of UTF-8.
    private static func cut(_ text: String, to count: Int) -> String {
        guard text.utf8.count > count else { return text }
        var beginning = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            used += UTF8.width(scalar)
            guard used <= count else { break }
            beginning.append(scalar)
        }
        return String(beginning)
    }
}
