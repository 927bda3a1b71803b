public import BLE

/// A feature of a device, as a type with a method for each command.
///
/// ```swift
/// final class LightFeature: Feature {
///     static let commands: Set<MessageCommand> = [.switchLight]
///     let handler: MessageHandler
///     init(handler: MessageHandler) { self.handler = handler }
///     func set(on isOn: Bool) async throws { try await handler.send(Message(.switchLight, payload: [isOn ? 1 : 0])) }
/// }
/// ```
///
/// A feature is registered by its type in a ``Devices/Configuration``. Each connection has its own instance,
/// ``Device/feature(_:)``.
public protocol Feature: AnyObject, Sendable {
    /// The commands that only this feature sends. None by default, so that the feature cannot send messages.
    static var commands: Set<MessageCommand> { get }
    /// Creates the feature for one connection. The handler sends its messages to the device.
    init(handler: MessageHandler)

    /// Called when the link is up. Messages cannot be sent yet.
    ///
    /// Connecting waits for this method and for ``ready()``, even beyond its timeout. Return soon if the task is
    /// cancelled.
    func connected() async
    /// Called when messages can be sent. Connecting finishes when this method has returned for all features.
    func ready() async
    /// Called when the link has ended. The instance is not used again.
    func disconnected(_ error: BLEError) async
}

extension Feature {
    /// None.
    public static var commands: Set<MessageCommand> { [] }
    /// Does nothing.
    public func connected() async {}
    /// Does nothing.
    public func ready() async {}
    /// Does nothing.
    public func disconnected(_ error: BLEError) async {}
}

/// Sends messages to a device, limited to the commands that the feature has claimed.
public struct MessageHandler: Sendable {
    /// The device's serial number.
    public let serial: String
    private let session: MessageSession
    private let commands: Set<MessageCommand>

    init(serial: String, session: MessageSession, commands: Set<MessageCommand>) {
        self.serial = serial
        self.session = session
        self.commands = commands
    }

    /// The device's peripheral, for operations other than messages.
    public var peripheral: Peripheral { session.peripheral }

    /// Sends a request and returns the reply; see ``MessageSession/send(_:timeout:)``. Throws `commandConflict` if the
    /// feature has not claimed the command.
    @discardableResult
    public func send(_ message: Message, timeout: Duration? = nil) async throws(BLEError) -> Message {
        try check(message.command)
        return try await session.send(message, timeout: timeout)
    }

    /// Sends a message that has no reply; see ``MessageSession/post(_:timeout:)``. Throws `commandConflict` if the
    /// feature has not claimed the command.
    public func post(_ message: Message, timeout: Duration? = nil) async throws(BLEError) {
        try check(message.command)
        try await session.post(message, timeout: timeout)
    }

    /// Returns the notifications of a command, from now on. The feature need not have claimed the command.
    ///
    /// - Parameter isEncrypted: true for encrypted notifications only; see
    ///   ``MessageSession/notifications(for:isEncrypted:)``.
    public func notifications(
        for command: MessageCommand, isEncrypted: Bool? = nil
    ) async -> BoundedStream<Message> {
        await session.notifications(for: command, isEncrypted: isEncrypted)
    }

    /// Agrees on the keys of the link, unless there are keys. From then on, encrypted notifications can be read; see
    /// ``MessageSession/secure()``.
    public func secure() async throws(BLEError) { try await session.secure() }

    /// Agrees on a new pairing key with the device and stores it.
    public func pair() async throws(BLEError) { try await session.pair() }

    /// Forgets the pairing key.
    public func unpair() async throws(BLEError) { try await session.unpair() }

    private func check(_ command: MessageCommand) throws(BLEError) {
        guard !commands.contains(command) else { return }
        throw BLEError(
            .commandConflict, "command \(command) is not claimed by the feature that sends it", isRetryable: false,
            remedy: "Add it to the feature's commands.")
    }
}
