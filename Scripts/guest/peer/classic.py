"""Bluetooth Classic in the air: a controller that has both transports, and a headset that has Classic alone.

bumble's controller has links over Classic, but no inquiry, and lacks commands that the Linux kernel requires from a
dual-mode controller.
"""

from __future__ import annotations

import asyncio
import contextlib

from bumble import hci, lmp
from bumble.a2dp import make_audio_sink_service_sdp_records
from bumble.controller import Controller
from bumble.core import InvalidArgumentError
from bumble.device import Device, DeviceConfiguration
from bumble.host import Host
from bumble.transport.common import AsyncPipeSink

from air import Air, LowEnergyController

ADDRESS = 'F0:0D:00:00:00:05'
"""The headset's address, public."""
NAME = 'Bumble Headset'
CLASS_OF_DEVICE = 0x240404
"""Audio and rendering; a wearable headset (Assigned Numbers, section 2.8)."""

INQUIRY_UNIT = 1.28
"""The unit for the length of an inquiry, in seconds (Core Specification, volume 4, part E, section 7.1.1)."""
INQUIRY_SCAN, PAGE_SCAN = 1, 2
"""The bits of Write Scan Enable: can be found, can be connected to."""

ANSWERS = {
    hci.HCI_SET_EVENT_FILTER_COMMAND: '',
    hci.HCI_WRITE_CONNECTION_ACCEPT_TIMEOUT_COMMAND: '',
    hci.HCI_WRITE_PAGE_TIMEOUT_COMMAND: '',
    hci.HCI_WRITE_PAGE_SCAN_ACTIVITY_COMMAND: '',
    hci.HCI_WRITE_PAGE_SCAN_TYPE_COMMAND: '',
    hci.HCI_WRITE_AUTHENTICATION_ENABLE_COMMAND: '',
    hci.HCI_WRITE_INQUIRY_MODE_COMMAND: '',
    hci.HCI_READ_VOICE_SETTING_COMMAND: '6000',
    hci.HCI_READ_NUMBER_OF_SUPPORTED_IAC_COMMAND: '01',
    hci.HCI_READ_CURRENT_IAC_LAP_COMMAND: '01338b9e',
}
"""The commands that bumble's controller does not know, and the bytes after the status in the answer, in hex."""


class DualModeController(LowEnergyController):
    """A controller for LE and Classic. It reports inquiry results with signal strength and data."""

    lmp_features = (
        LowEnergyController.lmp_features & ~hci.LmpFeatureMask.BR_EDR_NOT_SUPPORTED
        | hci.LmpFeatureMask.RSSI_WITH_INQUIRY_RESULTS
        | hci.LmpFeatureMask.EXTENDED_INQUIRY_RESPONSE
        | hci.LmpFeatureMask.SECURE_SIMPLE_PAIRING_CONTROLLER_SUPPORT
    )
    acl_data_packet_length = 1021

    class_of_device = 0
    inquiry_response = b''
    _inquiry: asyncio.Task[None] | None = None

    def on_hci_command_packet(self, command: hci.HCI_Command) -> None:
        answer = ANSWERS.get(command.op_code)
        if answer is None:
            super().on_hci_command_packet(command)
            return
        parameters = hci.HCI_GenericReturnParameters(data=bytes.fromhex('00' + answer))
        self.send_hci_packet(
            hci.HCI_Command_Complete_Event(
                num_hci_command_packets=1, command_opcode=command.op_code, return_parameters=parameters
            )
        )

    # --- being found ---

    def on_hci_write_class_of_device_command(
        self, command: hci.HCI_Write_Class_Of_Device_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.class_of_device = command.class_of_device
        return super().on_hci_write_class_of_device_command(command)

    def on_hci_write_extended_inquiry_response_command(
        self, command: hci.HCI_Write_Extended_Inquiry_Response_Command
    ) -> hci.HCI_StatusReturnParameters:
        self.inquiry_response = command.extended_inquiry_response
        return super().on_hci_write_extended_inquiry_response_command(command)

    # --- finding ---

    def on_hci_inquiry_command(self, command: hci.HCI_Inquiry_Command) -> None:
        self._send_hci_command_status(hci.HCI_COMMAND_STATUS_PENDING, command.op_code)
        self._inquiry = asyncio.create_task(self._inquire(command.inquiry_length))

    def on_hci_inquiry_cancel_command(self, command: hci.HCI_Inquiry_Cancel_Command) -> hci.HCI_StatusReturnParameters:
        self._end_inquiry()
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    def _end_inquiry(self) -> None:
        if self._inquiry:
            self._inquiry.cancel()
        self._inquiry = None

    async def _inquire(self, length: int) -> None:
        for _ in range(length):
            for other in self.link.controllers - {self}:
                if isinstance(other, DualModeController) and other.classic_scan_enable & INQUIRY_SCAN:
                    self.send_hci_packet(
                        hci.HCI_Extended_Inquiry_Result_Event(
                            num_responses=1,
                            bd_addr=other.public_address,
                            page_scan_repetition_mode=hci.HCI_R1_PAGE_SCAN_REPETITION_MODE,
                            reserved=0,
                            class_of_device=other.class_of_device,
                            clock_offset=0,
                            rssi=self.signal_strength,
                            extended_inquiry_response=other.inquiry_response,
                        )
                    )
            await asyncio.sleep(INQUIRY_UNIT)
        self.send_hci_packet(hci.HCI_Inquiry_Complete_Event(status=hci.HCI_ErrorCode.SUCCESS))

    # --- links ---

    def on_hci_create_connection_command(self, command: hci.HCI_Create_Connection_Command) -> None:
        """Connects. If no device with that address can be connected to, the page times out. (bumble fails without an
        answer.)"""
        other = self.link.find_classic_controller(command.bd_addr)
        if other and other.classic_scan_enable & PAGE_SCAN:
            super().on_hci_create_connection_command(command)
            return
        self._send_hci_command_status(hci.HCI_COMMAND_STATUS_PENDING, command.op_code)
        self.on_classic_connection_complete(command.bd_addr, hci.HCI_ErrorCode.PAGE_TIMEOUT_ERROR)

    def on_hci_disconnect_command(self, command: hci.HCI_Disconnect_Command) -> None:
        if self.find_classic_connection_by_handle(command.connection_handle):
            Controller.on_hci_disconnect_command(self, command)
        else:
            super().on_hci_disconnect_command(command)

    def fall_silent(self) -> None:
        self._end_inquiry()
        self.classic_scan_enable = 0
        for address in self.classic_connections:
            with contextlib.suppress(InvalidArgumentError):  # (the other controller is gone already)
                self.send_lmp_packet(address, lmp.LmpDetach(hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR))
        self.classic_connections.clear()
        super().fall_silent()


class Headset:
    """A Classic device that can be found and connected to while it is on. Its only service is an audio sink."""

    def __init__(self, air: Air) -> None:
        self._air = air
        self._controller: DualModeController | None = None

    async def switch_on(self) -> None:
        if self._controller:
            raise RuntimeError('the headset is on already')
        self._controller = controller = DualModeController('headset', link=self._air, public_address=ADDRESS)
        device = Device(
            config=DeviceConfiguration(
                name=NAME,
                address=hci.Address(ADDRESS, hci.AddressType.PUBLIC_DEVICE),
                class_of_device=CLASS_OF_DEVICE,
                le_enabled=False,
                classic_enabled=True,
            ),
            host=Host(controller, AsyncPipeSink(controller)),
        )
        device.sdp_service_records = {0x00010001: make_audio_sink_service_sdp_records(0x00010001)}
        await device.power_on()

    def switch_off(self) -> None:
        """Takes the headset out of reach. Nothing happens if it is off."""
        if self._controller:
            self._controller.fall_silent()
            self._air.remove_controller(self._controller)
        self._controller = None
