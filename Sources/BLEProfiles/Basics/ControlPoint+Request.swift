internal import BLE

extension ControlPoint {
    /// Sends a request, whose first byte is the opcode, and returns the parameter of the answer. Throws
    /// `invalidArgument` for a request that cannot be encoded.
    @discardableResult
    func send(_ request: some ValueCodable) async throws(BLEError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(BLEError) {
            bytes = try request.encoded()
        } catch {
            throw BLEError(.invalidArgument, error.message)
        }
        return try await perform(bytes[0], Array(bytes.dropFirst()))
    }
}
