// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Protocol identifiers: 24.
    static var protocols: NumberTable {
        NumberTable(#"""
        0001 SDP
        0002 UDP
        0003 RFCOMM
        0004 TCP
        0005 TCS-BIN
        0006 TCS-AT
        0007 ATT
        0008 OBEX
        0009 IP
        000a FTP
        000c HTTP
        000e WSP
        000f BNEP
        0010 UPNP
        0011 HID Protocol
        0012 HardcopyControlChannel
        0014 HardcopyDataChannel
        0016 HardcopyNotificationChannel
        0017 AVCTP
        0019 AVDTP
        001b CMTP
        001e MCAP Control Channel
        001f MCAP Data Channel
        0100 L2CAP

        """#)
    }
}
