/// How a value is written.
public enum WriteType: Hashable, Sendable {
    /// The peripheral confirms the write. A value that does not fit one packet is sent as a long write. At most 512
    /// bytes.
    case withResponse
    /// The peripheral does not confirm the write. A value that does not fit one packet is rejected.
    case withoutResponse
    /// The peripheral echoes each part, and the parts are compared before the peripheral is told to execute the write
    /// (Core Specification 5.4, volume 3, part G, section 4.9.5). Requires ``CharacteristicProperties/reliableWrite``.
    /// At most 512 bytes.
    case reliable
}
