public import BLE

extension MessageRequest {
    /// Returns the payload as a typed value.
    ///
    /// ```swift
    /// let device = MessagePeripheral { request, _ in
    ///     guard request.command == .setVolume else { throw MessageRejection.unknownCommand }
    ///     let percent = try request.payload(as: UInt8.self)
    ///     return try min(percent, 100).encoded()
    /// }
    /// ```
    ///
    /// Throws ``MessageRejection/wrongPayload`` if it cannot be decoded, with which the request is rejected if its
    /// handler does not catch it. ``MessageReplies`` calls this for each command.
    public func payload<Value: ValueCodable>(as type: Value.Type = Value.self) throws(MessageRejection) -> Value {
        do throws(BLEError) {
            return try Value(bytes: payload)
        } catch {
            throw .wrongPayload
        }
    }
}

extension MessagePeripheral {
    /// Sends a notification with a typed payload to the centrals that are subscribed, who receive it with
    /// ``MessageHandler/notifications(for:as:isEncrypted:)``.
    ///
    /// Throws `invalidValue` if the payload cannot be encoded, and `invalidMessage` if it is too long. An encrypted
    /// notification is not sent in sessions without keys.
    public func notify(
        _ command: MessageCommand, _ payload: some ValueCodable, isEncrypted: Bool = false
    ) throws(BLEError) {
        let bytes = try payload.encoded()
        do throws(MessageError) {
            try notify(command, payload: bytes, isEncrypted: isEncrypted)
        } catch {
            throw BLEError(error)
        }
    }
}
