/// What happened to a button (bthome.io/format, "Events").
public enum BTHomeButton: UInt8, Hashable, Sendable, CaseIterable {
    /// Nothing; another of the device's buttons was meant.
    case none = 0x00
    /// Pressed.
    case press = 0x01
    /// Pressed twice.
    case doublePress = 0x02
    /// Pressed three times.
    case triplePress = 0x03
    /// Pressed for long.
    case longPress = 0x04
    /// Pressed twice, for long.
    case longDoublePress = 0x05
    /// Pressed three times, for long.
    case longTriplePress = 0x06
    /// Is being held.
    case holdPress = 0x80
    /// Was let go.
    case holdRelease = 0x81
}

/// Which way a dimmer was turned.
public enum BTHomeDimmer: UInt8, Hashable, Sendable, CaseIterable {
    /// Not at all; another of the device's dimmers was meant.
    case none = 0x00
    /// To the left.
    case rotateLeft = 0x01
    /// To the right.
    case rotateRight = 0x02
}

/// What a remote control wants.
public enum BTHomeCommand: UInt8, Hashable, Sendable, CaseIterable {
    /// Off.
    case off = 0x00
    /// On.
    case on = 0x01
    /// The other of on and off.
    case toggle = 0x02
    /// More.
    case stepUp = 0x03
    /// Less.
    case stepDown = 0x04
}
