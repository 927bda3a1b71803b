import BLE

/// The lines of standard input, while a definition is served.
struct ServedInput: Sendable {
    let definition: PeripheralDefinition
    /// Answers the questions of pairings. Nil if another program answers them.
    let user: TerminalUser?

    /// Sets the values in the lines, until the end of the input.
    func follow(_ served: ServedPeripheral, _ output: Output) async throws {
        while let line = await nextLine() {
            let change: ValueLine
            let position: ValueLine.Position
            do {
                change = try ValueLine(line)
                position = try change.position(in: definition)
            } catch {
                output.note("\(error): \(line.excerpt)")
                continue
            }
            do throws(BLEError) {
                try await served.setValue(
                    change.value, service: position.service, characteristic: position.characteristic)
            } catch {
                if error.isCancellation || error.code == .shutDown { throw error }
                output.complain(error)
            }
        }
    }

    private func nextLine() async -> String? {
        guard let user else { return await StandardInput.shared.nextLine() }
        return await user.nextLine()
    }
}
