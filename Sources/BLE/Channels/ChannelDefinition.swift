/// A channel that a defined peripheral accepts.
public struct ChannelDefinition: Sendable {
    /// Runs for each channel that is opened. The channel is closed when it returns or throws. It is cancelled when the
    /// definition is no longer served. When the channel or its link ends, the handler's waits on the channel end, too,
    /// and it is cancelled if it has not returned within the request timeout of the host's configuration.
    public typealias Handler = @Sendable (L2CAPChannel) async throws -> Void

    /// The number at which channels are accepted. A ``PeripheralHost`` on Linux needs a privilege for numbers that are
    /// not ``PSM/dynamic``.
    public var psm: PSM
    /// What this side asks of a channel.
    public var options: ChannelOptions
    /// How many may be open. One counts until its handler has returned.
    public var limits: ChannelLimits
    /// Runs for each channel.
    public var onOpen: Handler

    /// Creates the definition of a channel.
    ///
    /// ```swift
    /// ChannelDefinition(0x0080) { channel in
    ///     for try await packet in channel.packets { try await channel.send(packet) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - security: the security that a central's link must have. It is asked to pair if it has less.
    ///   - maximumReceiveLength: the maximum length of a received packet, in bytes, 23 to 65,535.
    ///   - limits: how many may be open, 64 and 8 of one central by default.
    public init(
        _ psm: PSM, security: AttributeSecurity = .open, maximumReceiveLength: Int = 2048,
        limits: ChannelLimits = ChannelLimits(), onOpen: @escaping Handler
    ) {
        self.init(
            psm, options: ChannelOptions(security: security, maximumReceiveLength: maximumReceiveLength),
            limits: limits, onOpen: onOpen)
    }

    /// Creates the definition of a channel with given options.
    public init(
        _ psm: PSM, options: ChannelOptions, limits: ChannelLimits = ChannelLimits(), onOpen: @escaping Handler
    ) {
        self.psm = psm
        self.options = options
        self.limits = limits
        self.onOpen = onOpen
    }
}
