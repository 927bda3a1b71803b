/// An event of a button (bthome.io/format, "Events").
public enum BTHomeButton: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// No event. Used when the event concerns another button of the device.
    case none = 0x00
    /// A press.
    case press = 0x01
    /// A double press.
    case doublePress = 0x02
    /// A triple press.
    case triplePress = 0x03
    /// A long press.
    case longPress = 0x04
    /// A long double press.
    case longDoublePress = 0x05
    /// A long triple press.
    case longTriplePress = 0x06
    /// The button is being held.
    case holdPress = 0x80
    /// The button was released after being held.
    case holdRelease = 0x81
}

/// The direction in which a dimmer was turned.
public enum BTHomeDimmer: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// No event. Used when the event concerns another dimmer of the device.
    case none = 0x00
    /// A turn to the left.
    case rotateLeft = 0x01
    /// A turn to the right.
    case rotateRight = 0x02
}

/// A command of a remote control.
public enum BTHomeCommand: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// Switch off.
    case off = 0x00
    /// Switch on.
    case on = 0x01
    /// Switch from on to off, or from off to on.
    case toggle = 0x02
    /// One step up.
    case stepUp = 0x03
    /// One step down.
    case stepDown = 0x04
}
