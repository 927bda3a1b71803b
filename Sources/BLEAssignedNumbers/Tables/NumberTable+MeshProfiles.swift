// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Mesh profiles: 7.
    static var meshProfiles: NumberTable {
        NumberTable(#"""
        1600 Ambient Light Sensor NLC Profile 1.0
        1601 Basic Lightness Controller NLC Profile 1.0
        1602 Basic Scene Selector NLC Profile 1.0
        1603 Dimming Control NLC Profile 1.0
        1604 Energy Monitor NLC Profile 1.0
        1605 Occupancy Sensor NLC Profile 1.0
        1606 HVAC Integration NLC Profile 1.0

        """#)
    }
}
