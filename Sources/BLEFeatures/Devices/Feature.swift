public import BLE

/// A part of what a device can do, as a type: its commands as methods.
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
/// It is registered by its type in a ``Devices/Configuration``. Each connection has an instance of its own,
/// ``Device/feature(_:)``.
public protocol Feature: AnyObject, Sendable {
    /// The commands that are this feature's alone.
    static var commands: Set<MessageCommand> { get }
    /// Its way to the device.
    var handler: MessageHandler { get }
    /// A feature of one connection.
    init(handler: MessageHandler)

    /// There is a link. Messages cannot be sent yet.
    ///
    /// Connecting waits for this and for ``ready()``, also past its timeout: end soon when the task is cancelled.
    func connected() async
    /// The device listens and answers. Connecting is done when all features have returned from here.
    func ready() async
    /// The link has ended, and with it this instance's work.
    func disconnected(_ error: BLEError) async
}

extension Feature {
    /// Does nothing.
    public func connected() async {}
    /// Does nothing.
    public func ready() async {}
    /// Does nothing.
    public func disconnected(_ error: BLEError) async {}
}

/// A feature's way to its device: sends the commands that the feature has claimed.
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

    /// The device's peripheral, for what goes beyond messages.
    public var peripheral: Peripheral { session.peripheral }

    /// Sends a request and returns the reply; see ``MessageSession/send(_:timeout:)``. Throws `commandConflict` for a command that
    /// is not the feature's.
    @discardableResult
    public func send(_ message: Message, timeout: Duration? = nil) async throws(BLEError) -> Message {
        try check(message.command)
        return try await session.send(message, timeout: timeout)
    }

    /// Sends a message that has no reply; see ``MessageSession/post(_:timeout:)``. Throws `commandConflict` for a command that is
    /// not the feature's.
    public func post(_ message: Message, timeout: Duration? = nil) async throws(BLEError) {
        try check(message.command)
        try await session.post(message, timeout: timeout)
    }

    /// The notifications of a command from now on; any command, for listening disturbs nobody.
    public func notifications(for command: MessageCommand) async -> BoundedStream<Message> {
        await session.notifications(for: command)
    }

    /// Makes a pairing key with the device and keeps it.
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
