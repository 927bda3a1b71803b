/// A channel that a defined peripheral accepts.
public struct ChannelDefinition: Sendable {
    /// Runs for each channel that is opened. The channel is closed when it returns or throws, and it is cancelled when
    /// the definition is no longer served.
    public typealias Handler = @Sendable (L2CAPChannel) async throws -> Void

    /// The number at which channels are accepted. A ``PeripheralHost`` on Linux needs a privilege for numbers that are
    /// not ``PSM/dynamic``.
    public var psm: PSM
    /// What this side asks of a channel.
    public var options: ChannelOptions
    /// Runs for each channel.
    public var onOpen: Handler

    /// Creates the definition of a channel.
    ///
    /// ```swift
    /// ChannelDefinition(0x0080) { channel in
    ///     for try await packet in channel.packets { try await channel.send(packet) }
    /// }
    /// ```
    public init(_ psm: PSM, options: ChannelOptions = ChannelOptions(), onOpen: @escaping Handler) {
        self.psm = psm
        self.options = options
        self.onOpen = onOpen
    }
}
